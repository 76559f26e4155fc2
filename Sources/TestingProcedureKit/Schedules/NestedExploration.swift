/// The error of an exploration that starts within the body of another exploration.
///
/// The inner exploration would wait for a permit that the outer one keeps, and the outer one for a thread that it does
/// not control.
struct NestedExploration: Error, CustomStringConvertible {
  var description: String {
    "an exploration starts within the body of an exploration, which cannot control the inner one: "
      + "start the inner exploration before or after the outer one, or call its body directly"
  }
}
