extension Procedure {
  /// The same procedure, which is executed only while nobody else holds any of these categories.
  ///
  /// A category is any value: a string, a case of an enum. Categories are known to the whole process, on every queue and
  /// without one, unless a queue has a ``ResourceTable`` of its own. They are claimed when there is a slot, all of one level
  /// together or none, first come first served, and given back when the body has ended.
  ///
  /// What the body runs, produces or has in a graph may claim the same category: it does not wait for the body that it is
  /// a part of, and excludes its own siblings.
  ///
  /// What is added to a queue is nobody's part. So a body must not wait for it while it holds what that needs, nor for a
  /// queue on which it is: such a circle is found, whatever queues and tables it goes through, and one procedure in it
  /// fails. What a task awaits that the body has created with `Task { }` counts as awaited by the body, since such a task
  /// inherits what the body is. Use `Task.detached` for a task that the body does not wait for, or create it inside of
  /// `ProcedureContext.$current.withValue(nil) { … }`.
  ///
  /// A category's `==`, `hash(into:)` and `description` are called under no lock, and may look at queues.
  ///
  /// - Parameters:
  ///   - category: What is held alone.
  ///   - others: More of them.
  /// - Returns: The procedure with that exclusion. Where waiting would never end, it fails with
  ///   ``ProcedureError/exclusionDeadlock(procedure:circle:)``.
  public func exclusive<Category: Hashable & Sendable>(
    _ category: Category, _ others: Category...
  ) -> ProcedureTask<Input, Output> {
    claiming(ResourceRequest(categories: [category] + others, isShared: false))
  }

  /// The same procedure, which is executed only while no other one is that excludes with the same type.
  ///
  /// - Parameter type: Names the category; see ``exclusive(_:_:)``.
  /// - Returns: The procedure with that exclusion.
  public func exclusive<Category>(with type: Category.Type) -> ProcedureTask<Input, Output> {
    claiming(ResourceRequest(categories: [TypeCategory(type)], isShared: false))
  }

  /// The same procedure, which is executed only while nobody holds these categories alone: with others that share them.
  ///
  /// Who shares and who excludes come in order: one that waits to exclude is not overtaken for ever.
  ///
  /// - Parameters:
  ///   - category: What is shared; see ``exclusive(_:_:)``.
  ///   - others: More of them.
  /// - Returns: The procedure with that exclusion.
  public func shared<Category: Hashable & Sendable>(
    _ category: Category, _ others: Category...
  ) -> ProcedureTask<Input, Output> {
    claiming(ResourceRequest(categories: [category] + others, isShared: true))
  }

  /// The same procedure, which is executed only while it holds so many units of a resource.
  ///
  /// - Parameters:
  ///   - resource: What it uses.
  ///   - units: How much of it; from 1 to its capacity, or this traps. What is used of it on one level adds up, and traps
  ///     where that is more than its capacity.
  /// - Returns: The procedure with that need.
  public func uses(_ resource: Resource, units: Int = 1) -> ProcedureTask<Input, Output> {
    require(
      (1...resource.capacity).contains(units),
      "Resource \"\(resource.name)\": \"\(name)\" uses \(units) units of it, and it has \(resource.capacity)")
    return claiming(ResourceRequest(resource, units: units))
  }

  private func claiming(_ request: ResourceRequest) -> ProcedureTask<Input, Output> {
    procedureTask.changing { traits in
      for demand in request.demands { traits.demands.append(demand) }
    }
  }
}
