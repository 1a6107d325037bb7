package client

import (
	"net"
	"time"
)

// keepAliveAge is the age at which a connection gets TCP keep-alive, which takes four system calls: connections to
// endpoints that close after each response do not live so long.
const keepAliveAge = time.Second

// armKeepAlive starts the timer that sets keep-alive on connections of that age. One timer serves all of them. The
// mutex is held.
func (u *Upstream) armKeepAlive() {
	if u.ageing || u.config.KeepAlive <= 0 {
		return
	}
	u.ageing = true
	if u.ageTimer == nil {
		u.ageTimer = time.AfterFunc(keepAliveAge, u.setKeepAlives)
		return
	}
	u.ageTimer.Reset(keepAliveAge)
}

// setKeepAlives sets keep-alive on the connections that have reached the age.
func (u *Upstream) setKeepAlives() {
	config := net.KeepAliveConfig{Enable: true, Idle: u.config.KeepAlive}
	for _, conn := range u.aged() {
		_ = conn.SetKeepAliveConfig(config) // It may have been closed.
	}
}

// aged returns the connections that have reached the age since the last call. The list is in the order of birth, the
// youngest first.
func (u *Upstream) aged() []*net.TCPConn {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.ageing = false
	var aged []*net.TCPConn
	for cc, now := u.conns, u.clock(); cc != nil && !cc.aged; cc = cc.next {
		if now-cc.born < keepAliveAge {
			u.armKeepAlive()
			continue
		}
		cc.aged = true
		if tcp, ok := cc.bottom.(*net.TCPConn); ok {
			aged = append(aged, tcp)
		}
	}
	return aged
}
