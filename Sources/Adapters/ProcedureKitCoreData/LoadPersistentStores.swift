#if canImport(CoreData)
  public import CoreData
  public import ProcedureKit

  /// A procedure that loads the stores of a container and returns the container.
  ///
  /// ```swift
  /// let load = LoadPersistentStores(of: NSPersistentContainer(name: "Photos"))
  /// let container = try await queue.run(load)
  /// ```
  ///
  /// Run the procedure only once for each container. Loading may migrate a store, which can take some time. The body keeps its slot while
  /// the stores are being loaded.
  public struct LoadPersistentStores: InputlessProcedure {
    /// The container whose stores are loaded.
    public let container: NSPersistentContainer

    /// Creates a procedure.
    public init(of container: NSPersistentContainer) {
      self.container = container
    }

    /// Loads all stores that the container describes. Cancellation ends the wait, but does not stop the loading.
    ///
    /// - Returns: The container.
    /// - Throws: `CancellationError` if the task is cancelled; otherwise, the first error that occurred while loading the stores. That
    ///   error is thrown only after the container has tried to load all of them.
    public func execute() async throws -> NSPersistentContainer {
      let count = container.persistentStoreDescriptions.count
      let (results, result) = AsyncStream.makeStream(of: Result<Void, any Error>.self)
      container.loadPersistentStores { _, error in result.yield(error.map { .failure($0) } ?? .success(())) }
      var failure: (any Error)?
      for await result in results.prefix(count) {
        if case .failure(let error) = result { failure = failure ?? error }
      }
      try ProcedureContext.checkCancellation()
      if let failure { throw failure }
      return container
    }
  }
#endif
