/* The program in Python, as it is in this folder, and a zero behind it. */
	.section .rodata
	.globl kc__train_trees
	.hidden kc__train_trees
kc__train_trees:
	.incbin "tools/learn/train_trees.py"
	.byte 0

	.section .note.GNU-stack,"",@progbits
