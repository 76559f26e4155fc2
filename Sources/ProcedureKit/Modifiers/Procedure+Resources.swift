extension Procedure {
  /// Returns the procedure with mutual exclusion: the body executes only while no other run holds any of the categories.
  ///
  /// A category can be any hashable value, such as a string or an enum case. Strings are compared byte by byte. Categories apply to the
  /// whole process, including procedures without a queue, but excluding queues with a separate ``ResourceTable``. If adjacent modifiers
  /// declare several resources, a run claims all of them together, and holds either all or none. The run releases them when the body and
  /// the children that it produced have ended. Claims are granted in order of arrival.
  ///
  /// During a pause for a retry, a repetition or a rate limiter, or while it waits for a shared execution
  /// (``coalesced(by:in:)-(HashableSendable,_)``), the run releases all resources that the modifiers of the procedure claimed. Afterwards,
  /// it claims them all together again. Resources are not released if they are held by a graph that contains the procedure as a node, by a
  /// hedge that wraps it, or by another procedure whose body calls it.
  ///
  /// Procedures that a body runs, produces or executes as graph nodes can claim the body's own categories. They do not wait for the
  /// enclosing body, but they do exclude each other.
  ///
  /// A procedure that a body adds to a queue is not part of the body. A body must therefore not wait for an added procedure that needs one
  /// of the body's resources, nor for a queue with such a procedure to become idle. The library detects such deadlocks, even across queues
  /// and tables, and causes one procedure in the cycle to fail. A task that a body creates with `Task { }` inherits the body's context, and
  /// its waits count as waits by the body. For a task that the body does not await, use `Task.detached`, or create the task inside
  /// ``ProcedureContext/detached(_:)``.
  ///
  /// No lock is held while a category's `==`, `hash(into:)` or `description` is called, so these functions can use queues.
  ///
  /// - Parameters:
  ///   - category: The category to hold exclusively.
  ///   - others: Further categories.
  /// - Returns: The procedure with the exclusion. If its wait for the categories would never end, it fails with
  ///   ``ProcedureError/Kind/exclusionDeadlock``.
  public func exclusive<Category: Hashable & Sendable>(
    _ category: Category, _ others: Category...
  ) -> ProcedureTask<Input, Output> {
    claiming(ResourceRequest(categories: [category] + others, isShared: false))
  }

  /// Returns the procedure with mutual exclusion based on a type: the body executes only while no other run holds the category of `type`.
  ///
  /// See ``exclusive(_:_:)``.
  public func exclusive<Category>(with type: Category.Type) -> ProcedureTask<Input, Output> {
    claiming(ResourceRequest(categories: [TypeCategory(type)], isShared: false))
  }

  /// Returns the procedure with shared access: the body executes only while no other run holds any of the categories exclusively.
  ///
  /// Runs that share a category execute concurrently.
  ///
  /// Shared and exclusive claims are granted in order of arrival, so a waiting exclusive claim does not starve.
  ///
  /// - Parameters:
  ///   - category: The category to share; see ``exclusive(_:_:)``.
  ///   - others: Further categories.
  /// - Returns: The procedure with the shared access.
  public func shared<Category: Hashable & Sendable>(
    _ category: Category, _ others: Category...
  ) -> ProcedureTask<Input, Output> {
    claiming(ResourceRequest(categories: [category] + others, isShared: true))
  }

  /// Returns the procedure with a claim on units of a resource: the body executes only while the run holds the units.
  ///
  /// - Parameters:
  ///   - resource: The resource to claim.
  ///   - units: The number of units, from 1 to the capacity of `resource`; passing any other number traps. If adjacent modifiers claim
  ///     units of the same resource, the units add up.
  /// - Returns: The procedure with the claim. If the units of adjacent modifiers exceed the capacity, or a smaller capacity that has since
  ///   been set on the table, the run fails with ``ProcedureError/Kind/capacityExceeded``.
  public func uses(_ resource: Resource, units: Int = 1) -> ProcedureTask<Input, Output> {
    require(
      (1...resource.capacity).contains(units),
      "Resource \"\(resource.name)\": \"\(name)\" uses \(units) units, but the capacity is \(resource.capacity)")
    return claiming(ResourceRequest(resource, units: units))
  }

  func claiming(_ request: ResourceRequest) -> ProcedureTask<Input, Output> {
    procedureTask.changing { traits in
      for demand in request.demands { traits.demands.append(demand) }
    }
  }
}
