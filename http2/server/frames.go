package server

import (
	"encoding/binary"

	"github.com/sluiceproxy/sluice/http2/wire"
)

// incoming is DATA of which a part is still to come.
type incoming struct {
	header wire.Header
	// left is what is to come without padding, padding what follows it.
	left, padding int
	// exchange gets the bytes, or nothing where it is nil.
	exchange *exchange
}

// next reads one frame, or what is there of DATA. An error ends the connection.
func (c *serverConn) next() error {
	if c.data.left > 0 || c.data.padding > 0 {
		return c.moreData()
	}
	if err := c.need(wire.HeaderBytes); err != nil {
		return err
	}
	h := wire.ReadHeader(c.in[c.at:])
	switch {
	case h.Length > wire.MinMaxFrame:
		return wire.Fault(wire.FrameSizeError, "a frame above SETTINGS_MAX_FRAME_SIZE (section 4.2)")
	case c.block.open && (h.Type != wire.Continuation || h.Stream != c.block.stream):
		return wire.Fault(wire.ProtocolError, "another frame within a head (section 6.10)")
	case h.Type == wire.Data:
		return c.beginData(h)
	}
	if err := c.need(wire.HeaderBytes + h.Length); err != nil {
		return err
	}
	payload := c.in[c.at+wire.HeaderBytes : c.at+wire.HeaderBytes+h.Length]
	c.at += wire.HeaderBytes + h.Length
	return c.refuse(c.frame(h, payload))
}

// frame handles a frame other than DATA.
func (c *serverConn) frame(h wire.Header, payload []byte) error {
	switch h.Type {
	case wire.Headers:
		return c.beginBlock(h, payload)
	case wire.Continuation:
		return c.continueBlock(h, payload)
	case wire.RSTStream:
		return c.onReset(h, payload)
	case wire.Settings:
		return c.onSettings(h, payload)
	case wire.Ping:
		return c.onPing(h, payload)
	case wire.WindowUpdate:
		return c.onWindowUpdate(h, payload)
	case wire.Priority:
		return c.onPriority(h, payload)
	case wire.PriorityUpdate:
		return c.onPriorityUpdate(h, payload)
	case wire.GoAway:
		if h.Stream != 0 {
			return wire.Fault(wire.ProtocolError, "GOAWAY on a stream (section 6.8)")
		}
	case wire.PushPromise:
		return wire.Fault(wire.ProtocolError, "PUSH_PROMISE of a client (section 8.4)")
	case wire.Data:
	}
	return c.flood.take(CauseUnknown, 1) // Unknown types are ignored (section 4.1), as is a GOAWAY.
}

// refuse resets the stream that an error concerns, and returns the errors of the connection.
func (c *serverConn) refuse(err error) error {
	fault, ok := err.(*wire.Error) //nolint:errorlint // As the methods of this package return it.
	if !ok || fault.Stream == 0 {
		return err
	}
	if err := c.flood.take(CauseResets, 1); err != nil {
		return err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if x := c.streams[fault.Stream]; x != nil {
		c.resetStream(x, fault.Code, fault)
	} else {
		c.sendReset(fault.Stream, fault.Code)
	}
	return nil
}

// idleStream returns an error for frames on streams that have not been opened (section 5.1).
func (c *serverConn) idleStream(id uint32) error {
	if id == 0 || id > c.lastStream || id%2 == 0 {
		return wire.Fault(wire.ProtocolError, "a frame on a stream that is not open (section 5.1)")
	}
	return nil
}

// beginData handles the beginning of DATA.
func (c *serverConn) beginData(h wire.Header) error {
	padField, err := h.PadField()
	if err != nil {
		return err
	}
	if err = c.need(wire.HeaderBytes + padField); err != nil {
		return err
	}
	c.data = incoming{header: h}
	if c.data.left, c.data.padding, err = h.Content(c.in[c.at+wire.HeaderBytes:]); err != nil {
		return err
	}
	c.at += wire.HeaderBytes + padField
	if err := c.idleStream(h.Stream); err != nil {
		return err
	}
	if empty := c.data.left == 0 && !h.Flags.Has(wire.EndStream); empty || c.data.padding > c.data.left {
		if err := c.flood.take(CauseEmpty, 1); err != nil {
			return err
		}
	}
	c.mutex.Lock()
	x, err := c.admitData(h)
	c.credit += int64(h.Length - c.data.left) // What frames the bytes has been used.
	if x == nil {
		c.credit += int64(c.data.left)
	}
	c.giveCredit()
	if x != nil {
		c.growWindow()
	}
	c.mutex.Unlock()
	c.data.exchange = x
	if x == nil && err == nil {
		err = c.flood.take(CauseResets, 1)
	}
	if err := c.refuse(err); err != nil {
		return err
	}
	if c.data.left == 0 && c.data.padding == 0 {
		return c.endData()
	}
	return nil
}

// admitData returns the exchange that DATA belongs to, or nil where it is dropped. The mutex is held.
func (c *serverConn) admitData(h wire.Header) (*exchange, error) {
	if c.recvWindow -= int64(h.Length); c.recvWindow < 0 {
		return nil, wire.Fault(wire.FlowControlError, "DATA beyond the window of the connection (section 6.9)")
	}
	x := c.streams[h.Stream]
	switch {
	case x == nil && c.reset.has(h.Stream):
		return nil, nil
	case x == nil || x.body.ended:
		return nil, wire.StreamFault(h.Stream, wire.StreamClosed, "DATA on a closed stream (section 5.1)")
	}
	return x, x.body.expect(h.Length, c.data.left)
}

// moreData hands over what is there of DATA.
func (c *serverConn) moreData() error {
	if c.at == c.end {
		if err := c.fill(); err != nil {
			return err
		}
	}
	d := &c.data
	if d.left > 0 {
		n := min(d.left, c.end-c.at)
		if d.exchange != nil {
			c.addData(d.exchange, d.header.Stream, c.in[c.at:c.at+n])
		}
		c.at += n
		d.left -= n
	} else {
		n := min(d.padding, c.end-c.at)
		c.at += n
		d.padding -= n
	}
	if d.left == 0 && d.padding == 0 {
		return c.endData()
	}
	return nil
}

// endData handles the end of DATA.
func (c *serverConn) endData() error {
	x, h := c.data.exchange, c.data.header
	c.data.exchange = nil
	if x == nil || !h.Flags.Has(wire.EndStream) {
		return nil
	}
	return c.refuse(c.endBody(h.Stream, nil))
}

func (c *serverConn) onReset(h wire.Header, payload []byte) error {
	code, err := wire.ReadReset(payload)
	if err != nil {
		return err
	}
	if err := c.idleStream(h.Stream); err != nil {
		return err
	}
	c.mutex.Lock()
	if x := c.streams[h.Stream]; x != nil {
		x.abort(&resetError{code})
		c.forget(x)
	}
	c.mutex.Unlock()
	return c.flood.take(CauseResets, 1)
}

func (c *serverConn) onSettings(h wire.Header, payload []byte) error {
	c.mutex.Lock()
	err := wire.EachSetting(h, payload, c.apply)
	if err == nil && !h.Flags.Has(wire.Ack) {
		c.out.set(wire.AppendSettingsAck(c.out.room()))
	}
	c.mutex.Unlock()
	if err != nil {
		return err
	}
	return c.flood.take(CauseSettings, 1+len(payload)/settingsCost)
}

// apply applies a setting of the client. The mutex is held.
func (c *serverConn) apply(s wire.Setting) error {
	switch s.ID {
	case wire.InitialWindowSize:
		delta := int64(s.Value) - c.initialWindow
		c.initialWindow = int64(s.Value)
		for _, x := range c.streams {
			if x.sendWindow += delta; x.sendWindow > wire.MaxWindow {
				return wire.Fault(wire.FlowControlError, "a window above 2^31-1 by SETTINGS (section 6.9.2)")
			}
		}
		c.out.wake()
	case wire.MaxFrameSize:
		c.maxFrame = int(s.Value)
	case wire.HeaderTableSize:
		// Heads do not use the table; an update must follow where the client makes it smaller (RFC 7541, section 4.2).
		c.tableUpdate = c.tableUpdate || s.Value < defaultTableSize
	case wire.EnablePush, wire.MaxConcurrentStreams, wire.MaxHeaderListSize, wire.EnableConnectProtocol,
		wire.NoRFC7540Priorities:
	}
	return nil
}

func (c *serverConn) onPing(h wire.Header, payload []byte) error {
	data, err := wire.ReadPing(h, payload)
	if err != nil {
		return err
	}
	c.mutex.Lock()
	if h.Flags.Has(wire.Ack) {
		c.ponged(data)
	} else {
		c.out.set(wire.AppendPing(c.out.room(), wire.Ack, data))
	}
	c.mutex.Unlock()
	return c.flood.take(CausePing, 1)
}

func (c *serverConn) onWindowUpdate(h wire.Header, payload []byte) error {
	increment, err := wire.ReadWindowUpdate(payload)
	if err != nil {
		return err
	}
	if increment < tinyUpdate {
		if err := c.flood.take(CauseWindowUpdate, 1); err != nil {
			return err
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	window := &c.sendWindow
	if h.Stream != 0 {
		if err := c.idleStream(h.Stream); err != nil {
			return err
		}
		window = new(int64) // That of a stream that has ended.
		if x := c.streams[h.Stream]; x != nil {
			window = &x.sendWindow
		}
	}
	if err := wire.Widen(window, increment, h.Stream); err != nil {
		return err
	}
	c.out.wake()
	return nil
}

// onPriority checks PRIORITY, which says nothing any more (section 5.3).
func (c *serverConn) onPriority(h wire.Header, payload []byte) error {
	switch {
	case h.Stream == 0:
		return wire.Fault(wire.ProtocolError, "PRIORITY on the connection (section 6.3)")
	case len(payload) != wire.PriorityBytes:
		return wire.StreamFault(h.Stream, wire.FrameSizeError, "PRIORITY whose length is not 5 (section 6.3)")
	case binary.BigEndian.Uint32(payload)&wire.MaxStream == h.Stream:
		return wire.StreamFault(h.Stream, wire.ProtocolError, "a stream that depends on itself (RFC 7540, section 5.3.1)")
	}
	return c.flood.take(CausePriority, 1)
}

// onPriorityUpdate takes the priority of a response (RFC 9218, section 7.1).
func (c *serverConn) onPriorityUpdate(h wire.Header, payload []byte) error {
	switch {
	case h.Stream != 0:
		return wire.Fault(wire.ProtocolError, "PRIORITY_UPDATE on a stream (RFC 9218, section 7.1)")
	case len(payload) < 4:
		return wire.Fault(wire.FrameSizeError, "PRIORITY_UPDATE without a stream (RFC 9218, section 7.1)")
	}
	id := binary.BigEndian.Uint32(payload) & wire.MaxStream
	if id == 0 {
		return wire.Fault(wire.ProtocolError, "PRIORITY_UPDATE of no stream (RFC 9218, section 7.1)")
	}
	c.mutex.Lock()
	if x := c.streams[id]; x != nil {
		x.priority = parsePriority(string(payload[4:]))
	}
	c.mutex.Unlock()
	return c.flood.take(CausePriority, 1)
}
