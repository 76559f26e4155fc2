extension Procedure where Input: Encodable, Output: Codable {
  /// Returns the procedure with a journal: its value is written when the procedure has finished, and later runs with an equal input
  /// take the value from the journal.
  ///
  /// ```swift
  /// let resize = ResizeImage(size: .small).timeout(.seconds(5)).remembered(in: journal, as: "small")
  /// ```
  ///
  /// A run that finds a value does not execute what is written before this modifier, and has the event `reused` with the name of
  /// the journal. A cancelled run is not remembered. Two runs that start at the same time with equal inputs are both executed;
  /// ``Procedure/coalesced(by:in:)`` makes one of them.
  ///
  /// The body is executed at least once for each input: a body that was executing when the process was killed is executed again.
  ///
  /// - Parameters:
  ///   - journal: The journal. An append that fails, fails the procedure.
  ///   - key: The name in the journal. Two procedures in one journal need different names.
  ///   - version: The version of the procedure. Raise it when the body computes another value from the same input.
  ///   - rememberingFailures: Whether a failure is remembered, too: a later run fails with ``RememberedFailure``.
  /// - Returns: The procedure with the journal.
  public func remembered(
    in journal: any ProcedureJournal, as key: String, version: Int = 1, rememberingFailures: Bool = false
  ) -> ProcedureTask<Input, Output> {
    procedureTask.remembered(
      RememberedPlace(journal, key, version, rememberingFailures) { try $1.encode($0) }, encode: { try $1.encode($0) },
      decode: { try $1.decode(Output.self, from: $0) })
  }
}

extension Procedure where Input == Void, Output: Codable {
  /// Returns a procedure without an input with a journal; see
  /// `remembered(in:as:version:rememberingFailures:)`.
  public func remembered(
    in journal: any ProcedureJournal, as key: String, version: Int = 1, rememberingFailures: Bool = false
  ) -> ProcedureTask<Input, Output> {
    procedureTask.remembered(
      RememberedPlace(journal, key, version, rememberingFailures) { _, _ in [] }, encode: { try $1.encode($0) },
      decode: { try $1.decode(Output.self, from: $0) })
  }
}

extension Procedure where Input: Encodable, Output == Void {
  /// Returns a procedure without a value with a journal, which remembers that the procedure has finished; see
  /// `remembered(in:as:version:rememberingFailures:)`.
  public func remembered(
    in journal: any ProcedureJournal, as key: String, version: Int = 1, rememberingFailures: Bool = false
  ) -> ProcedureTask<Input, Output> {
    procedureTask.remembered(
      RememberedPlace(journal, key, version, rememberingFailures) { try $1.encode($0) }, encode: { _, _ in [] },
      decode: { _, _ in })
  }
}

extension Procedure where Input == Void, Output == Void {
  /// Returns a procedure without an input and a value with a journal, which remembers that the procedure has finished; see
  /// `remembered(in:as:version:rememberingFailures:)`.
  public func remembered(
    in journal: any ProcedureJournal, as key: String, version: Int = 1, rememberingFailures: Bool = false
  ) -> ProcedureTask<Input, Output> {
    procedureTask.remembered(
      RememberedPlace(journal, key, version, rememberingFailures) { _, _ in [] }, encode: { _, _ in [] },
      decode: { _, _ in })
  }
}

extension Procedure {
  /// Does not exist: a value that is not `Codable` cannot be remembered.
  @available(*, unavailable, message: "only a procedure with an Encodable input and a Codable value can be remembered")
  public func remembered(
    in journal: any ProcedureJournal, as key: String, version: Int = 1, rememberingFailures: Bool = false
  ) -> ProcedureTask<Input, Output> {
    procedureTask
  }
}
