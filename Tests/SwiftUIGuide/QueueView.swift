// The code of the guide *Showing a queue in SwiftUI*, which .ci/adapters type-checks for each Apple platform.
import Foundation
import ProcedureKit
import ProcedureKitFoundation
import SwiftUI

let uploads = ProcedureQueue("uploads", maxConcurrentProcedures: 2)

struct UploadsView: View {
  @State private var model = ProcedureQueueModel(uploads)

  var body: some View {
    List(model.rows) { row in
      UploadRow(row: row) { model.cancel(row.id) }
    }
    .task { await model.run() }
  }
}

struct UploadRow: View {
  let row: ProcedureQueueModel.Row
  let cancel: @MainActor () -> Void

  var body: some View {
    HStack {
      VStack(alignment: .leading) {
        Text(row.name)
        if let failure = row.failure {
          Text(failure.localizedDescription)
        } else if let wait = row.wait {
          Text("Waiting for \(wait.description)")
        }
        if row.state == .executing {
          ProgressView(value: row.progress)
        }
      }
      if !row.state.isFinished {
        Button("Cancel", role: .cancel, action: cancel)
      }
    }
  }
}

struct UploadsStatus: View {
  let model: ProcedureQueueModel

  var body: some View {
    let totals = model.totals
    HStack {
      Text("\(totals.executingCount) uploading, \(totals.waitingCount) waiting, \(totals.failedCount) failed")
      Button(model.isSuspended ? "Resume" : "Pause") {
        if model.isSuspended { model.resume() } else { model.suspend() }
      }
    }
  }
}
