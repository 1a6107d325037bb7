package client

import (
	"encoding/binary"

	"github.com/sluiceproxy/sluice/http2/wire"
)

const (
	// tinyUpdate is below what increment WINDOW_UPDATE counts as a frame that costs its sender less, and settingsCost how
	// many bytes of SETTINGS count as one.
	tinyUpdate   = 64
	settingsCost = 64
)

// incoming is DATA of which a part is still to come.
type incoming struct {
	header wire.Header
	// left is what is to come without padding, padding what follows it.
	left, padding int
	// exchange gets the bytes, as long as it is the stream's; nil drops them.
	exchange *RoundTrip
}

// next reads one frame, or what is there of DATA. An error ends the connection.
func (c *clientConn) next() error {
	if c.data.left > 0 || c.data.padding > 0 {
		return c.moreData()
	}
	if err := c.need(wire.HeaderBytes); err != nil {
		return err
	}
	h := wire.ReadHeader(c.in[c.at:])
	switch {
	case !c.opened && (h.Type != wire.Settings || h.Flags.Has(wire.Ack)):
		return wire.Fault(wire.ProtocolError, "the endpoint does not begin with SETTINGS (section 3.4)")
	case h.Length > wire.MinMaxFrame:
		return wire.Fault(wire.FrameSizeError, "a frame above SETTINGS_MAX_FRAME_SIZE (section 4.2)")
	case c.block.open && (h.Type != wire.Continuation || h.Stream != c.block.stream):
		return wire.Fault(wire.ProtocolError, "another frame within a head (section 6.10)")
	case h.Type == wire.Data:
		return c.beginData(h)
	}
	c.opened = true
	if err := c.need(wire.HeaderBytes + h.Length); err != nil {
		return err
	}
	payload := c.in[c.at+wire.HeaderBytes : c.at+wire.HeaderBytes+h.Length]
	c.at += wire.HeaderBytes + h.Length
	return c.refuse(c.frame(h, payload))
}

// frame handles a frame other than DATA.
func (c *clientConn) frame(h wire.Header, payload []byte) error {
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
	case wire.GoAway:
		return c.onGoAway(h, payload)
	case wire.PushPromise:
		return wire.Fault(wire.ProtocolError, "PUSH_PROMISE although SETTINGS_ENABLE_PUSH is 0 (section 8.4)")
	case wire.Priority, wire.PriorityUpdate, wire.Data:
	}
	return c.flood.Take(1) // Priorities are a client's, and unknown types are ignored (section 4.1).
}

// refuse resets the stream that an error concerns, and returns the errors of the connection.
func (c *clientConn) refuse(err error) error {
	fault, ok := err.(*wire.Error) //nolint:errorlint // As the methods of this package return it.
	if !ok || fault.Stream == 0 {
		return err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if rt := c.streams[fault.Stream]; rt != nil {
		c.reset(rt, fault.Code, fault)
	}
	return nil
}

// reset ends a stream by RST_STREAM, unless it has ended. The mutex is held.
func (c *clientConn) reset(rt *RoundTrip, code wire.Code, err error) {
	if c.streams[rt.id] != rt {
		return
	}
	c.out.set(wire.AppendReset(c.out.room(), rt.id, code))
	rt.fail(err)
	c.forget(rt)
}

// known returns an error for a stream that was never opened (section 5.1).
func (c *clientConn) known(id uint32) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if id%2 == 0 || id >= c.nextID {
		return wire.Fault(wire.ProtocolError, "a frame on a stream that is not open (section 5.1)")
	}
	return nil
}

// beginData handles the beginning of DATA.
func (c *clientConn) beginData(h wire.Header) error {
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
	if err := c.known(h.Stream); err != nil {
		return err
	}
	if empty := c.data.left == 0 && !h.Flags.Has(wire.EndStream); empty || c.data.padding > c.data.left {
		if err := c.flood.Take(1); err != nil {
			return err
		}
	}
	if err := c.refuse(c.admitData(h)); err != nil {
		return err
	}
	if c.data.left == 0 && c.data.padding == 0 {
		return c.endData()
	}
	return nil
}

// admitData finds the exchange of DATA.
func (c *clientConn) admitData(h wire.Header) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.credit += int64(h.Length - c.data.left) // What frames the bytes has been used.
	rt := c.streams[h.Stream]
	if rt != nil {
		if err := rt.recv.expect(h.Length, c.data.left); err != nil {
			c.credit += int64(c.data.left)
			return err
		}
		c.data.exchange = rt
		if c.data.left > 0 && c.data.left >= c.data.padding {
			c.answered.Add(1)
		}
		rt.recv.use(0) // The padding may be all that comes.
	} else {
		c.credit += int64(c.data.left) // The stream was reset, and this was on its way.
	}
	c.giveCredit()
	return nil
}

// moreData hands over what is there of DATA.
func (c *clientConn) moreData() error {
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

// addData takes bytes of a stream. Those that are dropped count as read.
func (c *clientConn) addData(rt *RoundTrip, id uint32, p []byte) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.streams[id] != rt {
		c.credit += int64(len(p))
		c.giveCredit()
		return
	}
	rt.recv.came.Add(&c.upstream.resources.pools.Pools, p)
	c.stir(rt)
}

// endData handles the end of DATA.
func (c *clientConn) endData() error {
	rt, h := c.data.exchange, c.data.header
	c.data.exchange = nil
	if rt == nil || !h.Flags.Has(wire.EndStream) {
		return nil
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.streams[h.Stream] != rt {
		return nil
	}
	if fault := rt.endOf(nil); fault != nil {
		c.reset(rt, fault.Code, fault)
	}
	return nil
}

func (c *clientConn) onReset(h wire.Header, payload []byte) error {
	code, err := wire.ReadReset(payload)
	if err != nil {
		return err
	}
	if err := c.known(h.Stream); err != nil {
		return err
	}
	c.mutex.Lock()
	rt := c.streams[h.Stream]
	if rt != nil {
		rt.fail(&ResetError{code})
		c.forget(rt)
	}
	c.mutex.Unlock()
	if rt != nil {
		return nil // There are not more of them than requests.
	}
	return c.flood.Take(1)
}

func (c *clientConn) onSettings(h wire.Header, payload []byte) error {
	allowed := 0
	c.mutex.Lock()
	err := wire.EachSetting(h, payload, c.apply)
	if err == nil && !h.Flags.Has(wire.Ack) {
		c.out.set(wire.AppendSettingsAck(c.out.room()))
		allowed = max(c.limit, 1)
		if c.limit == 0 {
			c.rest()
		}
	}
	c.mutex.Unlock()
	if err != nil {
		return err
	}
	if allowed > 0 {
		c.upstream.allowed(allowed)
	}
	return c.flood.Take(1 + len(payload)/settingsCost)
}

// apply applies a setting of the endpoint. The mutex is held.
func (c *clientConn) apply(s wire.Setting) error {
	switch s.ID {
	case wire.MaxConcurrentStreams:
		c.limit = int(min(s.Value, wire.MaxStream))
	case wire.InitialWindowSize:
		delta := int64(s.Value) - c.initialWindow
		c.initialWindow = int64(s.Value)
		for _, rt := range c.streams {
			if rt.sendWindow += delta; rt.sendWindow > wire.MaxWindow {
				return wire.Fault(wire.FlowControlError, "a window above 2^31-1 by SETTINGS (section 6.9.2)")
			}
		}
		c.out.wake()
	case wire.MaxFrameSize:
		c.maxFrame = int(min(s.Value, maxOut))
	case wire.MaxHeaderListSize:
		c.maxHead = int64(s.Value)
	case wire.HeaderTableSize:
		// Heads do not use the table; an update must follow where the endpoint makes it smaller (RFC 7541, section 4.2).
		c.tableUpdate = c.tableUpdate || s.Value < tableSize
	case wire.EnablePush, wire.EnableConnectProtocol, wire.NoRFC7540Priorities:
	}
	return nil
}

func (c *clientConn) onPing(h wire.Header, payload []byte) error {
	data, err := wire.ReadPing(h, payload)
	if err != nil {
		return err
	}
	if !h.Flags.Has(wire.Ack) {
		c.mutex.Lock()
		c.out.set(wire.AppendPing(c.out.room(), wire.Ack, data))
		c.mutex.Unlock()
	}
	return c.flood.Take(1)
}

func (c *clientConn) onWindowUpdate(h wire.Header, payload []byte) error {
	increment, err := wire.ReadWindowUpdate(payload)
	if err != nil {
		return err
	}
	if increment < tinyUpdate {
		if err := c.flood.Take(1); err != nil {
			return err
		}
	}
	if h.Stream != 0 {
		if err := c.known(h.Stream); err != nil {
			return err
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	defer c.out.wake()
	window := &c.sendWindow
	if h.Stream != 0 {
		rt := c.streams[h.Stream]
		if rt == nil {
			return nil
		}
		window = &rt.sendWindow
	}
	return wire.Widen(window, increment, h.Stream)
}

// onGoAway ends the streams that the endpoint has not processed. The others go on.
func (c *clientConn) onGoAway(h wire.Header, payload []byte) error {
	switch {
	case h.Stream != 0:
		return wire.Fault(wire.ProtocolError, "GOAWAY on a stream (section 6.8)")
	case len(payload) < 8:
		return wire.Fault(wire.FrameSizeError, "GOAWAY whose length is below 8 (section 6.8)")
	}
	last := binary.BigEndian.Uint32(payload) & wire.MaxStream
	code := wire.Code(binary.BigEndian.Uint32(payload[4:]))
	c.mutex.Lock()
	c.life.retired = true
	for id, rt := range c.streams {
		if id > last {
			delete(c.streams, id)
			rt.fail(&GoAwayError{code})
		}
	}
	c.rest()
	c.mutex.Unlock()
	return c.flood.Take(1)
}
