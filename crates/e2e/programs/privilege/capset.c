// expect: ok
// why: asks for capabilities, in the ambient and the bounding set too
#include <linux/capability.h>
#include "../hostile.h"
int main(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct all[2] = {{~0U, ~0U, ~0U}, {~0U, ~0U, ~0U}};
    MUST_FAIL("capset", syscall(SYS_capset, &header, all));
    MUST_FAIL("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0));
    MUST_FAIL("securebits", prctl(PR_SET_SECUREBITS, 1 << 4, 0, 0, 0));
    return 0;
}
