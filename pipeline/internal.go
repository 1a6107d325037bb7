package pipeline

// InternalProvider is the name of the provider whose objects are made from static options.
const InternalProvider = "internal"
