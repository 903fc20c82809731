"""Nets that evaluate positions: ONNX files, how positions are encoded for them, what runs them.

`contract` says what a file must be and checks it, `net` loads it, `backends` has the runtimes.
`encoding` turns positions into planes, by the `layout` of the game. `architecture` and `writer` are
the net that is trained here. The packages onnx, onnxruntime and openvino are optional, and imported
only when they are used.
"""
