; Counts happy numbers and their steps below a limit, by repeated sums of squared digits.
        global  _start

LIMIT   equ     3500000

        section .bss
buf:    resb    64
        section .text
_start:
        mov     ecx, 10
        mov     r12d, 1             ; n
        xor     r13d, r13d          ; happy numbers
        xor     r14d, r14d          ; hash
.next:
        mov     eax, r12d
        xor     r15d, r15d          ; steps
.step:
        xor     ebx, ebx
.digit:
        xor     edx, edx
        div     ecx
        imul    edx, edx
        add     ebx, edx
        test    eax, eax
        jnz     .digit
        inc     r15d
        mov     eax, ebx
        cmp     eax, 4              ; 1, or 4 in the other cycle
        je      .count
        cmp     eax, 1
        jne     .step
        inc     r13d
.count:
        imul    r14d, r14d, 31
        add     r14d, r15d
        inc     r12d
        cmp     r12d, LIMIT
        jb      .next

        lea     rsi, [buf + 63]     ; the line is written backwards
        mov     byte [rsi], 10
        mov     eax, r14d
        call    number
        dec     rsi
        mov     byte [rsi], ' '
        mov     eax, r13d
        call    number
        mov     edx, buf + 64
        sub     edx, esi
        mov     eax, 1
        mov     edi, 1
        syscall
        mov     eax, 60
        xor     edi, edi
        syscall

number: xor     edx, edx            ; eax in decimal before rsi
        div     ecx
        add     dl, '0'
        dec     rsi
        mov     [rsi], dl
        test    eax, eax
        jnz     number
        ret
