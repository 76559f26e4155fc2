/// Internal. Work on each element of an array: a graph that is made when the array is known.
struct ElementWork<Element: Sendable, Output: Sendable>: Sendable {
  private let element: ProcedureTask<Element, Output>
  private let limit: Int
  private let policy: ElementFailurePolicy
  /// Returns the name of an element; `nil` names each element by its index.
  private let elementName: (@Sendable (Element) -> String)?

  init(
    _ element: ProcedureTask<Element, Output>, limit: Int, policy: ElementFailurePolicy,
    elementName: (@Sendable (Element) -> String)?
  ) {
    require(
      limit >= 1, "The limit for \"\(element.name)\" on each element is \(limit); with less than 1 nothing could run")
    (self.element, self.limit, self.policy, self.elementName) = (element, limit, policy, elementName)
  }

  /// The work on a whole array.
  var task: ProcedureTask<[Element], [Output]> {
    ProcedureTask(element.name) { elements in
      guard !elements.isEmpty else { return [] }
      return try await graph(of: elements).procedureTask.executeAsLevel(()).compactMap(\.self)
    }
  }

  private func graph(of elements: [Element]) -> ProcedureGraph<Void, [Output?]> {
    ProcedureGraph<Void, [Output?]>(element.name, elementsOf: element.name, combining: { $0 }) { builder in
      elements.enumerated().map { index, value in
        let name = elementName.map { $0(value) } ?? "\(element.name)[\(index)]"
        return builder.add(
          ProcedureTask<Void, Output?>(
            Level.Traits(name: name, rawPriority: element.priority?.rawValue, key: element.level.traits.key)
          ) { _ in try await output(of: value) })
      }
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
  init(
    keeping predicate: ProcedureTask<Element, Bool>, limit: Int, policy: ElementFailurePolicy,
    elementName: (@Sendable (Element) -> String)?
  ) where Output == Element? {
    let evaluation = ProcedureTask<Element, Element?>(predicate.name, priority: predicate.priority) { element in
      try await predicate.executeWithinBody(element) ? element : nil
    }
    self.init(evaluation, limit: limit, policy: policy, elementName: elementName)
  }
}
