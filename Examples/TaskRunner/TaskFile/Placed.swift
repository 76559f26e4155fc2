/// A value, and its place in the task file.
struct Placed<Value: Sendable>: Sendable {
  let value: Value
  /// The place, in bytes from the beginning of the file.
  let offset: Int
}
