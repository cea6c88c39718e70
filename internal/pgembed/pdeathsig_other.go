//go:build darwin

package pgembed

import "syscall"

// needsGuard is true where only an open pipe tells a child that its parent died.
const needsGuard = true

func setPdeathsig(*syscall.SysProcAttr, syscall.Signal) {}
