/* The few prototypes of QEMU's plugin API 1 that are used: Debian ships no qemu-plugin.h. */
#ifndef PLUGIN_H
#define PLUGIN_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_RW = 3 };

extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);
extern void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, enum qemu_plugin_op, void *, uint64_t);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*)(unsigned, void *), enum qemu_plugin_cb_flags, void *);
extern void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, void (*)(unsigned, qemu_plugin_meminfo_t, uint64_t, void *), enum qemu_plugin_cb_flags, enum qemu_plugin_mem_rw, void *);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
extern void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
extern const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);

int qemu_plugin_version = 1;

#endif
