// CRC-32 by bytes with a 256-entry table.
#include <stdio.h>
#include <stdint.h>

#define N (1 << 20)
static uint32_t table[256];
static unsigned char buf[N];

int main(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1;
        table[i] = c;
    }
    uint32_t s = 17;
    for (int i = 0; i < N; i++) {
        s = s * 1103515245u + 12345u;
        buf[i] = s >> 16;
    }
    uint32_t crc = 0xFFFFFFFFu;
    for (int r = 0; r < 150; r++)
        for (int i = 0; i < N; i++) crc = table[(crc ^ buf[i]) & 255] ^ crc >> 8;
    printf("%08x\n", ~crc);
    return 0;
}
