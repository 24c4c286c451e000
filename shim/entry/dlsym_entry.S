/*
 * dlsym as the application sees it. RTLD_NEXT depends on the caller's address,
 * so every look-up that is not for one of our names must reach the real dlsym
 * by a jump, with the caller's return address still on the stack.
 */
#if !defined(__x86_64__)
#error "dlsym_entry.S has no code for this architecture"
#endif

	.text
	.globl	dlsym
	.type	dlsym, @function
	.align	16
dlsym:
	.cfi_startproc
	endbr64
	testq	%rsi, %rsi
	je	.Lpass
	movq	%rsi, %rax
	cmpb	$'_', (%rax)		/* "cu", "nv" or "__nv" */
	jne	.Lname
	cmpb	$'_', 1(%rax)
	jne	.Lpass
	addq	$2, %rax
	jmp	.Lcompiler
.Lname:
	cmpb	$'c', (%rax)
	jne	.Lcompiler
	cmpb	$'u', 1(%rax)
	jne	.Lpass
	jmp	.Lwanted
.Lcompiler:
	cmpb	$'n', (%rax)
	jne	.Lpass
	cmpb	$'v', 1(%rax)
	jne	.Lpass
.Lwanted:
	cmpq	$-1, %rdi		/* RTLD_NEXT: the caller wants what lies behind it */
	je	.Lpass
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	movq	%rsi, %rdi
	call	kc__dlsym_wants
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	testl	%eax, %eax
	je	.Lpass
	jmp	kc__dlsym_ours
.Lpass:
	movq	kc__real_dlsym(%rip), %rax
	testq	%rax, %rax
	je	.Lfirst
	jmp	*%rax
.Lfirst:
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	kc__dlsym_find_real
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
	.cfi_endproc
	.size	dlsym, .-dlsym
	.section .note.GNU-stack,"",@progbits
