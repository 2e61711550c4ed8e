// expect: ok
// why: control: the work directory is empty, is ours, can be written and executed from; /tmp can be written
#include "../hostile.h"
int main(void) {
    DIR *directory = opendir(".");
    if (!directory) breach("the work directory cannot be read");
    for (struct dirent *entry; (entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) breach("%s is in the work directory", entry->d_name);
    int here = open("file", O_RDWR | O_CREAT, 0600), there = open("/tmp/file", O_RDWR | O_CREAT, 0600);
    if (here < 0 || there < 0 || write(here, "x", 1) != 1 || write(there, "x", 1) != 1) breach("cannot write");
    if (shm_open("/own", O_RDWR | O_CREAT, 0600) < 0) breach("/dev/shm cannot be written");
    return 0;
}
