// expect: ok
// why: raw and packet sockets
#include <netinet/in.h>
#include "../hostile.h"
int main(void) {
    MUST_FAIL("raw ICMP", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
    MUST_FAIL("raw IP", socket(AF_INET, SOCK_RAW, IPPROTO_RAW));
    MUST_FAIL("raw IPv6", socket(AF_INET6, SOCK_RAW, IPPROTO_RAW));
    MUST_FAIL("packet", socket(AF_PACKET, SOCK_RAW, htons(3)));
    MUST_FAIL("packet", socket(AF_PACKET, SOCK_DGRAM, htons(3)));
    return 0;
}
