// expect: ok
// why: whatever lies in the homes, in /var, /srv, /mnt, /opt or /run of the host is nobody's business
#include "../hostile.h"
int main(int argc, char **argv) {
    const char *paths[] = {"/root", "/home", "/srv", "/mnt", "/media", "/run", "/boot", "/var/log", "/var/lib", "/var/spool", "/lost+found"};
    (void)argc;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        DIR *directory = opendir(paths[i]);
        if (!directory) continue;
        for (struct dirent *entry; (entry = readdir(directory));) {
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
            char inner[PATH_MAX];
            snprintf(inner, sizeof inner, "%s/%s", paths[i], entry->d_name);
            if (strncmp(argv[0], inner, strlen(inner)) == 0) continue;
            breach("%s is visible", inner);
        }
        closedir(directory);
    }
    return 0;
}
