/*
 * void kc__call_on(void *end, void (*work)(void *arg), void *arg): calls work(arg)
 * on the stack that ends there. It returns as any call does, so that a shadow stack
 * and unwinding are in order. (makecontext() would make AddressSanitizer print a
 * warning in programs that have it.)
 */
#if !defined(__x86_64__)
#error "call_on.S has no code for this architecture"
#endif

	.text
	.globl	kc__call_on
	.hidden	kc__call_on
	.type	kc__call_on, @function
	.align	16
kc__call_on:
	.cfi_startproc
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
	.cfi_endproc
	.size	kc__call_on, .-kc__call_on
	.section .note.GNU-stack,"",@progbits
