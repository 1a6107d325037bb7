package relay

// Pipes returns how many pipes the engine has, lent and idle.
func (e *Engine) Pipes() int { return int(e.pipes.count.Load()) }
