@testable import ProcedureKit

/// What a ``ReadyList`` is meant to be: an array, sorted after each insertion.
struct ReadyListModel {
  struct Entry: Equatable {
    let member: Int32
    let priority: UInt8
    let order: UInt64
  }

  private(set) var entries: [Entry] = []

  func contains(_ member: Int32) -> Bool {
    entries.contains { $0.member == member }
  }

  func hasMember(before priority: UInt8, _ order: UInt64) -> Bool {
    entries.contains { Self.comes($0, before: Entry(member: -1, priority: priority, order: order)) }
  }

  mutating func insert(_ member: Int32, priority: UInt8, order: UInt64) {
    let entry = Entry(member: member, priority: priority, order: order)
    entries.insert(entry, at: entries.firstIndex { Self.comes(entry, before: $0) } ?? entries.count)
  }

  mutating func remove(_ member: Int32) {
    entries.removeAll { $0.member == member }
  }

  private static func comes(_ entry: Entry, before other: Entry) -> Bool {
    entry.priority > other.priority || (entry.priority == other.priority && entry.order < other.order)
  }
}
