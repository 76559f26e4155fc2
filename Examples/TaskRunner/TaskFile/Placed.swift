/// A value together with its position in the task file.
struct Placed<Value: Sendable>: Sendable {
  let value: Value
  /// The position, in bytes from the beginning of the file.
  let offset: Int
}
