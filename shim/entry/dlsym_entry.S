/*
 * dlsym as the application sees it. RTLD_NEXT depends on the caller's address,
 * so every look-up that is not for one of our names must reach the real dlsym
 * by a jump, with the caller's return address still on the stack.
 *
 * It has the versions of glibc's, 2.34 and before: a library with a dlsym of its
 * own looks for one of them behind itself.
 */
#if !defined(__x86_64__)
#error "dlsym_entry.S has no code for this architecture"
#endif

	.text
	.globl	kc__dlsym, kc__dlsym_before_2_34
	.symver	kc__dlsym, dlsym@@GLIBC_2.34, remove
	.symver	kc__dlsym_before_2_34, dlsym@GLIBC_2.2.5, remove
	.type	kc__dlsym, @function
	.type	kc__dlsym_before_2_34, @function
	.align	16
kc__dlsym:
kc__dlsym_before_2_34:
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
	movq	kc__next_dlsym(%rip), %rax
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
	call	kc__dlsym_first
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
	.cfi_endproc
	.size	kc__dlsym, .-kc__dlsym
	.size	kc__dlsym_before_2_34, .-kc__dlsym_before_2_34

/* RTLD_DEFAULT (0) and RTLD_NEXT (-1) depend on the caller: kc__dlsym_once, which is a caller, is for other handles. */
	.globl	kc__dlsym_once_entry
	.hidden	kc__dlsym_once_entry
	.type	kc__dlsym_once_entry, @function
	.align	16
kc__dlsym_once_entry:
	.cfi_startproc
	endbr64
	leaq	1(%rdi), %rax
	cmpq	$1, %rax
	ja	kc__dlsym_once
	jmp	*kc__real_dlsym(%rip)
	.cfi_endproc
	.size	kc__dlsym_once_entry, .-kc__dlsym_once_entry
	.section .note.GNU-stack,"",@progbits
