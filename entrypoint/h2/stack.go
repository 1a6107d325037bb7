package h2

// stackBytes is the room on the stack that handlers need.
const stackBytes = 5 << 10

// growStack makes room for a handler on the stack of the goroutine that net/http has started for it. Growing a stack
// costs with each frame on it, and here there are few. index is 0: the array has to be a part of the frame, and costs
// time only where it is used.
//
//go:noinline
func growStack(index int) byte {
	if index == 0 {
		return 0
	}
	var room [stackBytes]byte
	room[index] = 1
	return room[index/2]
}
