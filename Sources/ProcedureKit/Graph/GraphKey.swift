/// A key with which the bodies of a graph request a value that is computed on demand.
///
/// ```swift
/// struct Header: GraphKey {
///   typealias Value = [String]
///   var path: String
/// }
/// ```
///
/// The type of the keys determines the type of the values, and the procedure that computes them; see
/// ``GraphBuilder/values(for:isVolatile:with:)``. Requests with equal keys of the same type share one value.
public protocol GraphKey: Hashable, Sendable {
  /// The type of the value that belongs to a key.
  associatedtype Value: Sendable

  /// The name of the run that computes the value, for errors, events and diagrams. The default is the description of the key.
  var name: String { get }
}

extension GraphKey {
  /// The description of the key.
  public var name: String { "\(self)" }
}

extension GraphBuilder {
  /// Declares the procedure that computes values for keys of one type, so that the bodies of the graph can request them.
  ///
  /// ```swift
  /// let build = ProcedureGraph("build") { (g, sources: Node<[String]>) in
  ///   g.values(for: Header.self, with: ReadHeader().retry(.immediate, maxAttempts: 2))
  ///   return g.map("compile", sources) { source in
  ///     let common = try await ProcedureContext.value(of: Header(path: "common.h"))
  ///     return try await compile(source, with: common)
  ///   }
  /// }
  /// ```
  ///
  /// A body requests a value with ``ProcedureContext/value(of:)-swift.method``. The first request for a key starts the procedure as a child
  /// of the graph's run. The child has its own slot on the queue of the graph, or on ``ProcedureQueue/shared`` if the graph has no queue.
  /// Later requests in the same run of the graph wait for the same value, and receive the same error if the procedure fails. The procedure
  /// can itself request values. A graph that executes within a body of this graph can use the declarations of both graphs.
  ///
  /// The limit ``ProcedureGraph/maxConcurrentNodes(_:)`` applies only to nodes, and a node counts towards this limit even while it is
  /// waiting for a value. The number of values that are computed concurrently is limited by the width of the queue, and by modifiers of the
  /// procedure, such as ``Procedure/uses(_:units:)``.
  ///
  /// - Parameters:
  ///   - keys: The type of the keys. Declaring a type twice in one graph traps.
  ///   - isVolatile: Whether a value can change between runs of the graph even if all values requested by the procedure stay the same, for
  ///     example because the procedure reads a file. In a durable graph (`ProcedureKitDurable`), a volatile value is computed again in each
  ///     run that needs it.
  ///   - procedure: The procedure, whose input is the key.
  public func values<Key: GraphKey, P: Procedure>(
    for keys: Key.Type, isVolatile: Bool = false, with procedure: P
  ) where P.Input == Key, P.Output == Key.Value {
    addKeys(KeyProcedure<Key>(task: procedure.procedureTask, isVolatile: isVolatile))
  }

  /// Declares the function that computes the values for keys of one type; see ``values(for:isVolatile:with:)``.
  ///
  /// - Parameters:
  ///   - keys: The type of the keys. Declaring a type twice in one graph traps.
  ///   - isVolatile: Whether a value can change between runs of the graph even if all values requested by the function stay the same.
  ///   - operation: The function, which never executes on the caller's actor. Its arguments are the key and a context that it can use to
  ///     request other values.
  public func values<Key: GraphKey>(
    for keys: Key.Type, isVolatile: Bool = false,
    operation: @escaping @concurrent @Sendable (Key, ProcedureContext) async throws -> Key.Value
  ) {
    let name = "\(Key.self)"
    values(
      for: keys, isVolatile: isVolatile,
      with: ProcedureTask(name) { key in try await operation(key, .requireCurrent(for: name)) })
  }
}

extension ProcedureContext {
  /// Returns the value for a key. Each value is computed once per run of the graph, by the procedure that the enclosing graph declares for
  /// keys of this type; see ``GraphBuilder/values(for:isVolatile:with:)``.
  ///
  /// The body releases its slot while it waits. Cancelling the body ends the wait immediately. The computation is cancelled when the last
  /// body stops waiting for its value, or when the graph is cancelled. The graph does not end before the computation does.
  ///
  /// The procedures that a body of the graph calls, runs or produces belong to the graph, too. A procedure that the body adds to a queue
  /// does not, but can request values through the context of the body. The conditions and end hooks of the graph itself cannot request its
  /// values.
  ///
  /// - Parameter key: The key of the requested value.
  /// - Returns: The value.
  /// - Throws: The error of the computation, if it fails; ``GraphKeyError`` if the value depends on the value that the caller computes, or
  ///   if no enclosing graph declares the type of the key; `CancellationError` or the reason for the cancellation if the body is cancelled;
  ///   ``ProcedureError/Kind/exclusionDeadlock`` if, for another reason, the computation is waiting for the caller.
  /// - Complexity: O(d) for d enclosing runs. If the caller itself computes a value, O(d + w), where w is the number of waits that are
  ///   reachable from the requested value.
  public func value<Key: GraphKey>(of key: Key) async throws -> Key.Value {
    guard let request = GraphRequests.Request(key, from: run) else { throw GraphKeyError(.undeclared, [key]) }
    return try await request.value()
  }

  /// Returns the value for a key, on behalf of the procedure that is executing in the current task; see ``value(of:)-swift.method``.
  ///
  /// - Throws: The errors that ``value(of:)-swift.method`` throws; ``GraphKeyError`` if no procedure is executing in the current task.
  public static func value<Key: GraphKey>(of key: Key) async throws -> Key.Value {
    guard let current else { throw GraphKeyError(.undeclared, [key]) }
    return try await current.value(of: key)
  }
}

/// An error that is thrown when a body's request for the value of a ``GraphKey`` is invalid.
public struct GraphKeyError: Error, CustomStringConvertible {
  /// The reason a request is invalid.
  @nonexhaustive
  public enum Kind: Hashable, Sendable {
    /// The requested value depends, directly or through other values, on the value that the requesting procedure computes.
    case cycle
    /// No enclosing graph declares a procedure for the type of the key.
    case undeclared
  }

  /// The reason the request is invalid.
  public let kind: Kind
  /// For a cycle, the keys along it: the value for each key depends on the value for the next key, and the last key is equal to the first.
  /// Otherwise, the requested key.
  public let keys: [any GraphKey]

  init(_ kind: Kind, _ keys: [any GraphKey]) { (self.kind, self.keys) = (kind, keys) }

  /// A message that names the keys.
  public var description: String {
    let names = keys.map { $0.name.quoted }
    return switch kind {
    case .cycle:
      "the value of \(names[0]) depends on itself: \(names[0]) needs "
        + names.dropFirst().joined(separator: ", which needs ")
    case .undeclared:
      "\(names[0]) was requested, but no enclosing graph declares values for \("\(type(of: keys[0]))".quoted)"
    }
  }
}
