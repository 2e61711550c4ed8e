// expect: ok
// why: opens a file by its inode number in the file system below: the way out of early containers
#include "../hostile.h"
int main(void) {
    struct file_handle *handle = calloc(1, sizeof *handle + MAX_HANDLE_SZ);
    int mount_id;
    handle->handle_bytes = MAX_HANDLE_SZ;
    if (name_to_handle_at(AT_FDCWD, "/usr", handle, &mount_id, 0)) {
        handle->handle_bytes = 8;
        handle->handle_type = 1;
        memcpy(handle->f_handle, "\2\0\0\0\0\0\0\0", 8);
    }
    int at = open("/usr", O_RDONLY | O_DIRECTORY);
    MUST_FAIL("open_by_handle_at", open_by_handle_at(at, handle, O_RDONLY));
    return 0;
}
