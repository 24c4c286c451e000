/* The style sheet and the script of a page, as they are in this folder, and their sizes. The script is one, of files in
 * the order in which they stand here. */
	.macro begin name
	.globl \name
	.hidden \name
\name:
	.endm

	.section .rodata
	begin kc__html_style
	.incbin "tools/report/html/page.css"
style_end:

	begin kc__html_script
	.incbin "tools/report/html/elements.js"
	.incbin "tools/report/html/tables.js"
	.incbin "tools/report/html/figures.js"
	.incbin "tools/report/html/timeline.js"
	.incbin "tools/report/html/data.js"
	.incbin "tools/report/html/top.js"
	.incbin "tools/report/html/ran.js"
	.incbin "tools/report/html/slow.js"
	.incbin "tools/report/html/steps.js"
	.incbin "tools/report/html/changed.js"
	.incbin "tools/report/html/accurate.js"
	.incbin "tools/report/html/page.js"
script_end:

	.balign 8
	begin kc__html_style_bytes
	.quad style_end - kc__html_style
	begin kc__html_script_bytes
	.quad script_end - kc__html_script

	.section .note.GNU-stack,"",@progbits
