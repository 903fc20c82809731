"""Nets that evaluate positions: ONNX files, how positions are encoded for them, what runs them.

`contract` checks files, `net` loads and runs them. `encoding` turns positions into planes. `graph`
has the residual net that is trained here. The packages onnx, onnxruntime and openvino are optional,
and imported only when they are used.
"""
