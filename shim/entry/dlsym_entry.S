/*
 * dlsym as the application sees it. RTLD_NEXT depends on the caller's address,
 * so every look-up that is not for one of our names must reach the real dlsym
 * by a jump, with the caller's return address still on the stack, or in x30.
 *
 * It has the versions of glibc's, 2.34 and before: a library with a dlsym of its
 * own looks for one of them behind itself.
 */
#include "shim/entry/c_library.h"

#if defined(__aarch64__)
	.macro	keep_arguments
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	mov	x29, sp
	stp	x0, x1, [sp, 16]
	.endm
	.macro	restore_arguments
	ldp	x0, x1, [sp, 16]
	ldp	x29, x30, [sp], 32
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	.endm
#endif

	.text
	.globl	kc__dlsym, kc__dlsym_before_2_34
	.symver	kc__dlsym, dlsym@@GLIBC_2.34, remove
	.symver	kc__dlsym_before_2_34, dlsym@KC__GLIBC_FIRST, remove
	.type	kc__dlsym, @function
	.type	kc__dlsym_before_2_34, @function
	.align	16
kc__dlsym:
kc__dlsym_before_2_34:
	.cfi_startproc
#if defined(__x86_64__)
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
#elif defined(__aarch64__)
	hint	34			/* bti c */
	cbz	x1, .Lpass
	mov	x9, x1
	ldrb	w10, [x9]
	cmp	w10, '_'		/* "cu", "nv" or "__nv" */
	b.ne	.Lname
	ldrb	w10, [x9, 1]
	cmp	w10, '_'
	b.ne	.Lpass
	ldrb	w10, [x9, 2]!
	b	.Lcompiler
.Lname:
	cmp	w10, 'c'
	b.ne	.Lcompiler
	ldrb	w10, [x9, 1]
	cmp	w10, 'u'
	b.ne	.Lpass
	b	.Lwanted
.Lcompiler:
	cmp	w10, 'n'
	b.ne	.Lpass
	ldrb	w10, [x9, 1]
	cmp	w10, 'v'
	b.ne	.Lpass
.Lwanted:
	cmn	x0, 1			/* RTLD_NEXT: the caller wants what lies behind it */
	b.eq	.Lpass
	keep_arguments
	mov	x0, x1
	bl	kc__dlsym_wants
	mov	w9, w0
	restore_arguments
	cbz	w9, .Lpass
	b	kc__dlsym_ours
.Lpass:
	adrp	x16, kc__next_dlsym
	ldr	x16, [x16, :lo12:kc__next_dlsym]
	cbz	x16, .Lfirst
	br	x16
.Lfirst:
	keep_arguments
	bl	kc__dlsym_first
	mov	x16, x0
	restore_arguments
	br	x16
#endif
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
#if defined(__x86_64__)
	endbr64
	leaq	1(%rdi), %rax
	cmpq	$1, %rax
	ja	kc__dlsym_once
	jmp	*kc__real_dlsym(%rip)
#elif defined(__aarch64__)
	hint	34			/* bti c */
	add	x16, x0, 1
	cmp	x16, 1
	b.hi	kc__dlsym_once
	adrp	x16, kc__real_dlsym
	ldr	x16, [x16, :lo12:kc__real_dlsym]
	br	x16
#endif
	.cfi_endproc
	.size	kc__dlsym_once_entry, .-kc__dlsym_once_entry
	.section .note.GNU-stack,"",@progbits
