/*
 * void kc__call_on(void *end, void (*work)(void *arg), void *arg): calls work(arg)
 * on the stack that ends there. It returns as any call does, so that a shadow stack
 * and unwinding are in order. (makecontext() would make AddressSanitizer print a
 * warning in programs that have it.)
 */
	.text
	.globl	kc__call_on
	.hidden	kc__call_on
	.type	kc__call_on, @function
	.align	16
kc__call_on:
	.cfi_startproc
#if defined(__x86_64__)
	endbr64
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	movq	%rdi, %rsp
	movq	%rdx, %rdi
	call	*%rsi
	movq	%rbp, %rsp
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	ret
#elif defined(__aarch64__)
	hint	34			/* bti c */
	stp	x29, x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	.cfi_def_cfa_register x29
	mov	sp, x0
	mov	x0, x2
	blr	x1
	mov	sp, x29
	ldp	x29, x30, [sp], 16
	.cfi_def_cfa sp, 0
	.cfi_restore x29
	.cfi_restore x30
	ret
#else
#error "call_on.S has no code for this architecture"
#endif
	.cfi_endproc
	.size	kc__call_on, .-kc__call_on
	.section .note.GNU-stack,"",@progbits
