/* The kernels as the driver loads them: nvcc's fatbin, as it is. IMAGE is its path. */
	.section .rodata
	.globl driver_image
	.globl driver_image_bytes
	.balign 16
driver_image:
	.incbin IMAGE
image_end:
	.balign 8
driver_image_bytes:
	.quad image_end - driver_image
	.section .note.GNU-stack, "", @progbits
