/// A table whose columns are aligned with spaces.
struct Table {
  private var rows: [[String]]

  init(header: [String]) {
    rows = [header]
  }

  mutating func append(_ row: [String]) {
    precondition(row.count == rows[0].count, "all rows of a table must have the same number of columns")
    rows.append(row)
  }

  /// The text of the table. The first column is left-aligned, and the others are right-aligned.
  var text: String {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      row.indices.map { column in
        let padding = String(repeating: " ", count: widths[column] - row[column].count)
        return column == 0 ? row[column] + padding : padding + row[column]
      }
      .joined(separator: "  ")
    }
    .joined(separator: "\n")
  }
}
