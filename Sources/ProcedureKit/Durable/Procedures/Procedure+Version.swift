extension Procedure {
  /// Returns the procedure with a version, for the nodes of a durable graph: a node with another version than before is executed
  /// again, and so is everything that depends on the node.
  ///
  /// Raise the version when the body computes another value from the same input. The default is 1. A later modifier keeps the
  /// version.
  ///
  /// - Parameter version: The version. Less than 0 traps.
  /// - Returns: The procedure with the version.
  public func version(_ version: Int) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    return task.relabelled { $0.version = .version(version, of: task.name) }
  }
}

extension UInt32 {
  /// Returns an author's version. Traps if the version is too small or too large.
  static func version(_ version: Int, of name: String) -> UInt32 {
    require(
      0...Int(UInt32.max) ~= version,
      "The version of \"\(name)\" is \(version); it has to be between 0 and \(UInt32.max)")
    return UInt32(version)
  }
}
