// Suffix array by prefix doubling with counting sort, then repeated substrings by Kasai's LCP.
#include <stdio.h>
#include <string.h>

#define N 1500000
static unsigned char s[N];
static int sa[N], rk[N], tmp[N], cnt[N + 256];

int main(void) {
    unsigned x = 2463534242u;
    for (int i = 0; i < N; i++) {
        x ^= x << 13; x ^= x >> 17; x ^= x << 5;
        s[i] = i >= 7000 && (x >> 8) % 40 ? s[i - 7000] : 'a' + x % 3;
    }
    int m = 256;
    for (int i = 0; i < N; i++) cnt[rk[i] = s[i]]++;
    for (int i = 1; i < m; i++) cnt[i] += cnt[i - 1];
    for (int i = N - 1; i >= 0; i--) sa[--cnt[rk[i]]] = i;
    int rounds = 0;
    for (int k = 1;; k *= 2) {
        int p = 0;
        for (int i = N - k; i < N; i++) tmp[p++] = i;
        for (int i = 0; i < N; i++)
            if (sa[i] >= k) tmp[p++] = sa[i] - k;
        memset(cnt, 0, m * sizeof *cnt);
        for (int i = 0; i < N; i++) cnt[rk[i]]++;
        for (int i = 1; i < m; i++) cnt[i] += cnt[i - 1];
        for (int i = N - 1; i >= 0; i--) sa[--cnt[rk[tmp[i]]]] = tmp[i];
        memcpy(tmp, rk, sizeof rk);
        p = 1;
        rk[sa[0]] = 0;
        for (int i = 1; i < N; i++) {
            int a = sa[i - 1], b = sa[i];
            int a2 = a + k < N ? tmp[a + k] : -1, b2 = b + k < N ? tmp[b + k] : -1;
            rk[b] = tmp[a] == tmp[b] && a2 == b2 ? p - 1 : p++;
        }
        rounds++;
        if (p == N) break;
        m = p;
    }
    long long sum = 0, longest = 0;
    for (int i = 0, h = 0; i < N; i++) {
        if (rk[i] == 0) { h = 0; continue; }
        int j = sa[rk[i] - 1];
        while (i + h < N && j + h < N && s[i + h] == s[j + h]) h++;
        sum += h;
        if (h > longest) longest = h;
        if (h) h--;
    }
    printf("%d %lld %lld %d\n", rounds, longest, sum, sa[N / 3]);
    return 0;
}
