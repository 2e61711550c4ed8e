// args: {socket_file}
// expect: ok
// why: servers of the host that listen on files: its own, the system bus, containers
#include "../hostile.h"
static int reach(const char *path) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strncpy(to.sun_path, path, sizeof to.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof to);
}
int main(int argc, char **argv) {
    const char *paths[] = {argc > 1 ? argv[1] : "", "/run/dbus/system_bus_socket", "/run/systemd/private", "/run/docker.sock", "/var/run/docker.sock",
                           "/run/containerd/containerd.sock", "/dev/log", "/run/systemd/journal/socket", "/tmp/.X11-unix/X0"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) MUST_FAIL(paths[i], reach(paths[i]));
    return 0;
}
