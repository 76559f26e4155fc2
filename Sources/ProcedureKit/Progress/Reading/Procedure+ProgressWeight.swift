extension Procedure {
  /// Returns the procedure with a weight, by which its progress counts in that of its graph or parent. The default is 1.
  ///
  /// Of several weights, the last one counts. See ``ProgressReporter``.
  ///
  /// - Parameter weight: The weight, in whatever unit suits all parts: seconds, bytes, files. A negative or infinite weight traps; a procedure of weight 0 does
  ///   not count.
  /// - Returns: The procedure with the weight.
  public func progressWeight(_ weight: Double) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    require(
      weight >= 0 && weight.isFinite,
      "Procedure \"\(task.name)\": its progress weight is \(weight); a finite number from 0 on is needed")
    return task.relabelled { $0.weight = weight }
  }
}
