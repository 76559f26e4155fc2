#if canImport(CoreData)
  public import CoreData
  public import ProcedureKit

  /// A Core Data context for background work. The context is used only on its own queue.
  ///
  /// The invariant that justifies `@unchecked Sendable`: the context is used only in closures that it executes itself, one at a time, and
  /// it never escapes from them.
  public final class ManagedContext: @unchecked Sendable {
    private let context: NSManagedObjectContext

    /// Creates a context for a container whose stores have been loaded.
    ///
    /// - Parameter container: The container to which changes are saved.
    public init(of container: NSPersistentContainer) {
      context = container.newBackgroundContext()
    }

    /// Calls a closure on the context's queue and saves the changes that the closure makes. If the closure or the save fails, all unsaved
    /// changes are undone.
    ///
    /// Managed objects must not escape from the closure. Return their IDs or plain values instead. Cancelling the caller does not stop the
    /// closure.
    ///
    /// - Parameter body: The closure to call.
    /// - Returns: The result of the closure.
    /// - Throws: Any error thrown by the closure or by saving.
    public func perform<Success: Sendable>(
      _ body: @escaping @Sendable (NSManagedObjectContext) throws -> Success
    ) async throws -> Success {
      try await withCheckedThrowingContinuation { continuation in
        // The context's queue calls the closure exactly once.
        context.perform { [self] in continuation.resume(with: Result { try performSaving(body) }) }
      }
    }

    private func performSaving<Success>(_ body: (NSManagedObjectContext) throws -> Success) throws -> Success {
      do {
        let value = try body(context)
        if context.hasChanges { try context.save() }
        return value
      } catch {
        context.rollback()
        throw error
      }
    }
  }

  /// A procedure that calls a closure in a context and saves the changes.
  ///
  /// ```swift
  /// let context = ManagedContext(of: container)
  /// let add = InContext(context, "add photo") { (photo: PhotoValue, context) in
  ///   Photo(context: context).name = photo.name
  /// }
  /// ```
  public struct InContext<Input: Sendable, Output: Sendable>: Procedure {
    /// The name of the procedure.
    public let name: String
    private let context: ManagedContext
    private let body: @Sendable (Input, NSManagedObjectContext) throws -> Output

    /// Creates a procedure.
    ///
    /// - Parameters:
    ///   - context: The context in which the closure is called.
    ///   - name: The name of the procedure.
    ///   - body: The closure, which is called on the context's queue; see ``ManagedContext/perform(_:)``.
    public init(
      _ context: ManagedContext, _ name: String = "in context",
      _ body: @escaping @Sendable (Input, NSManagedObjectContext) throws -> Output
    ) {
      (self.context, self.name, self.body) = (context, name, body)
    }

    /// Calls the closure and saves the changes. Cancellation neither stops the closure nor undoes its changes.
    ///
    /// - Throws: Any error thrown by the closure or by saving.
    public func execute(_ input: Input) async throws -> Output {
      try await context.perform { [body] in try body(input, $0) }
    }
  }

  /// A procedure that saves a container's view context if it has unsaved changes.
  public struct SaveViewContext: InputlessProcedure {
    /// The container whose view context is saved.
    public let container: NSPersistentContainer

    /// Creates a procedure.
    public init(of container: NSPersistentContainer) {
      self.container = container
    }

    /// Saves the changes on the main actor. Cancellation has no effect once saving has started.
    ///
    /// - Throws: Any error thrown by saving. The unsaved changes remain in the context.
    public func execute() async throws {
      try await save()
    }

    @MainActor private func save() throws {
      let context = container.viewContext
      if context.hasChanges { try context.save() }
    }
  }
#endif
