package injector

// CloseListener makes the listener of reviews fail.
func (i *Injector) CloseListener() { _ = i.listener.Close() }
