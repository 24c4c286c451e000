/* The style sheet and the script of a page, as they are in this folder: kc__html_style to kc__html_style_end, and so
 * on. The script is one, in the order in which its files stand here. */
	.section .rodata
	.macro begin name
	.globl \name
	.hidden \name
\name:
	.endm

	begin kc__html_style
	.incbin "tools/report/html/page.css"
	begin kc__html_style_end

	begin kc__html_script
	.incbin "tools/report/html/elements.js"
	.incbin "tools/report/html/tables.js"
	.incbin "tools/report/html/figures.js"
	.incbin "tools/report/html/timeline.js"
	.incbin "tools/report/html/page.js"
	begin kc__html_script_end

	.section .note.GNU-stack,"",@progbits
