/// Internal. Work on each element of an array: a graph that is made when the array is known.
struct ElementWork<Element: Sendable, Output: Sendable>: Sendable {
  private let element: ProcedureTask<Element, Output>
  private let limit: Int
  private let policy: ElementFailurePolicy

  init(_ element: ProcedureTask<Element, Output>, limit: Int, policy: ElementFailurePolicy) {
    require(
      limit >= 1, "The limit for \"\(element.name)\" on each element is \(limit); with less than 1 nothing could run")
    (self.element, self.limit, self.policy) = (element, limit, policy)
  }

  /// The work on a whole array.
  var task: ProcedureTask<[Element], [Output]> {
    ProcedureTask(element.name) { elements in
      guard !elements.isEmpty else { return [] }
      return try await graph(of: elements).procedureTask.executeAsLevel(()).compactMap(\.self)
    }
  }

  private func graph(of elements: [Element]) -> ProcedureGraph<Void, [Output?]> {
    ProcedureGraph<Void, [Output?]>(element.name) { builder in
      let nodes = elements.enumerated().map { index, value in
        builder.add(
          ProcedureTask<Void, Output?>(
            Level.Traits(
              name: "\(element.name)[\(index)]", rawPriority: element.priority?.rawValue, key: element.level.traits.key)
          ) { _ in try await output(of: value) })
      }
      return builder.add(from: nodes)
    }
    .limit(limit)
    .errorPolicy(policy == .collect ? .continue : .failFast)
  }

  /// - Returns: `nil` for an element that is to be left out.
  private func output(of value: Element) async throws -> Output? {
    do {
      return try await element.executeWithinBody(value)
    } catch let error as ProcedureError where error.kind == .ignored {
      return nil
    } catch {
      if policy == .drop, ProcedureContext.current?.isCancelled != true { return nil }
      throw error
    }
  }
}

extension ElementWork {
  /// Work that returns the elements for which a predicate returns `true`, and `nil` for the others.
  init(keeping predicate: ProcedureTask<Element, Bool>, limit: Int, policy: ElementFailurePolicy)
  where Output == Element? {
    let evaluation = ProcedureTask<Element, Element?>(predicate.name, priority: predicate.priority) { element in
      try await predicate.executeWithinBody(element) ? element : nil
    }
    self.init(evaluation, limit: limit, policy: policy)
  }
}
