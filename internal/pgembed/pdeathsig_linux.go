package pgembed

import "syscall"

// needsGuard is false where the kernel itself signals a child whose parent died.
const needsGuard = false

// setPdeathsig has the kernel send sig when the thread that started the process ends. Go sets it after the change of
// account, which would clear it.
func setPdeathsig(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }
