#if canImport(CoreData)
  public import CoreData
  public import ProcedureKit

  /// A Core Data context for background work. It is used only on its own queue.
  ///
  /// Invariant of `@unchecked Sendable`: the context is used only within functions that it executes itself, one at a time, and never leaves
  /// them.
  public final class ManagedContext: @unchecked Sendable {
    private let context: NSManagedObjectContext

    /// Creates a context for a container whose stores have been loaded.
    ///
    /// - Parameter container: The container.
    public init(of container: NSPersistentContainer) {
      context = container.newBackgroundContext()
    }

    /// Calls a function on the context's queue, and saves the changes that the function made. If either fails, all unsaved changes are
    /// undone.
    ///
    /// Managed objects must not leave the function: return their ids, or values. Cancelling the caller does not stop the function.
    ///
    /// - Parameter body: The function.
    /// - Returns: The result of the function.
    /// - Throws: The error thrown by the function, or by saving.
    public func perform<Success: Sendable>(
      _ body: @escaping @Sendable (NSManagedObjectContext) throws -> Success
    ) async throws -> Success {
      try await withCheckedThrowingContinuation { continuation in
        // The context's queue calls the function exactly once.
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

  /// A procedure that executes a function in a context, and saves the changes.
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
    ///   - context: The context.
    ///   - name: The name of the procedure.
    ///   - body: The function, which the context's queue calls; see ``ManagedContext/perform(_:)``.
    public init(
      _ context: ManagedContext, _ name: String = "in context",
      _ body: @escaping @Sendable (Input, NSManagedObjectContext) throws -> Output
    ) {
      (self.context, self.name, self.body) = (context, name, body)
    }

    /// Calls the function, and saves the changes. Cancellation does not stop the function, whose changes remain.
    ///
    /// - Throws: The error thrown by the function, or by saving.
    public func execute(_ input: Input) async throws -> Output {
      try await context.perform { [body] in try body(input, $0) }
    }
  }

  /// A procedure that saves a container's view context, if there is anything to save.
  public struct SaveViewContext: InputlessProcedure {
    /// The container.
    public let container: NSPersistentContainer

    /// Creates a procedure.
    public init(of container: NSPersistentContainer) {
      self.container = container
    }

    /// Saves on the main actor. Cancellation has no effect once saving has begun.
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
