; Adds two numbers: each ends at what is no digit.
global _start

section .bss
text: resb 64

section .text
number:                         ; of the digits from rsi on, in rax
    xor eax, eax
.next:
    movzx edx, byte [rsi]
    inc rsi
    sub edx, '0'
    cmp edx, 9
    ja .end
    lea rax, [rax + rax * 4]
    lea rax, [rdx + rax * 2]
    jmp .next
.end:
    ret

_start:
    xor eax, eax                ; read
    xor edi, edi
    mov rsi, text
    mov edx, 63
    syscall
    mov rsi, text
    call number
    mov r8, rax
    call number
    add rax, r8
    mov rdi, text + 63
    mov byte [rdi], 10
    mov ecx, 10
.digit:
    xor edx, edx
    div rcx
    add edx, '0'
    dec rdi
    mov [rdi], dl
    test rax, rax
    jnz .digit
    mov rsi, rdi
    mov edx, text + 64
    sub edx, esi
    mov eax, 1                  ; write
    mov edi, 1
    syscall
    mov eax, 60                 ; exit
    xor edi, edi
    syscall
