/* The predictor of the plugin that counts directions, on branches from standard input: "place taken"
   a line; prints 1 for each that it foresees, else 0. */
#include DIRECTIONS
#define IGNORED {}
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t a, void (*b)(qemu_plugin_id_t, struct qemu_plugin_tb *)) IGNORED
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t a, void (*b)(qemu_plugin_id_t, void *), void *c) IGNORED
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *a, void (*b)(unsigned, void *), enum qemu_plugin_cb_flags c, void *d) IGNORED
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *a) { return 0; }
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *a, size_t b) { return 0; }
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *a) { return 0; }
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *a) { return 0; }
int main(int argc, char **argv)
{
    unsigned long place;
    int taken;
    if (qemu_plugin_install(0, 0, argc, argv))
        return 1;
    while (scanf("%lu %d", &place, &taken) == 2)
        putchar('0' + foreseen(place, taken));
    return 0;
}
