// expect: ok
// why: a server of its own must not be reachable from, nor keep anything busy on, the host; it may fail or work
#include <netinet/in.h>
#include "../hostile.h"
int main(void) {
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(8765)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&here, sizeof here) == 0) listen(fd, 100);
    if (spawn() == 0) {
        setsid();
        sleep_for_ever();
    }
    return 0;
}
