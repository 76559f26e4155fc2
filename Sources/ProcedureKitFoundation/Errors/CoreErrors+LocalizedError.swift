public import Foundation
public import ProcedureKit

extension GraphItemsError: LocalizedError {
  /// A sentence that names the graph and lists all its problems, for the authors of the items.
  public var errorDescription: String? { description.asSentence }
}

extension GraphKeyError: LocalizedError {
  /// A sentence that names the keys.
  public var errorDescription: String? { description.asSentence }
}

extension CapabilityError: LocalizedError {
  /// A sentence that names the capability.
  public var errorDescription: String? { description.asSentence }
}

extension ConditionError: LocalizedError {
  /// A sentence that describes the error. The errors of the alternatives are described by their `localizedDescription`.
  public var errorDescription: String? {
    switch self {
    case .noneSatisfied(let errors):
      "no alternative was satisfied: \(errors.map(\.localizedDescription).joined(separator: "; "))".asSentence
    default: description.asSentence
    }
  }
}

extension String {
  /// The text as a sentence: it begins with a capital letter and ends with a period.
  package var asSentence: String {
    let isComplete = last.map { ".!?".contains($0) } ?? true
    return prefix(1).uppercased() + dropFirst() + (isComplete ? "" : ".")
  }
}
