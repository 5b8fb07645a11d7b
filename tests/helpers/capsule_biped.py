"""Biped of capsules as an MJCF file; its legs can touch each other and its trunk."""

LEG = """
<body name="{s}_hip" pos="0 {y} -0.02">
  <joint name="{s}_abad" axis="1 0 0" range="-60 60"/>
  <geom name="{s}_hip" type="sphere" size="0.04" mass="0.4"/>
  <body name="{s}_thigh" pos="0 0 -0.02">
    <joint name="{s}_pitch" axis="0 1 0" range="-100 60"/>
    <geom name="{s}_thigh" type="capsule" fromto="0 0 -0.05 0 0 -0.25" size="0.035" mass="1.2"/>
    <body name="{s}_shank" pos="0 0 -0.3">
      <joint name="{s}_knee" axis="0 1 0" range="0 150"/>
      <geom name="{s}_shank" type="capsule" fromto="0 0 0 0 0 -0.25" size="0.025" mass="0.6"/>
      <geom name="{s}_foot" type="sphere" pos="0.02 0 -0.27" size="0.03" mass="0.2"/>
    </body>
  </body>
</body>
"""


def biped(gravity: float = -9.81) -> str:
    """Text of the file: 7 bodies, 12 degrees of freedom, 12.8 kg."""
    legs = LEG.format(s="left", y=0.09) + LEG.format(s="right", y=-0.09)
    return f"""
<mujoco model="capsule_biped">
  <compiler autolimits="true"/>
  <option gravity="0 0 {gravity}"/>
  <default>
    <joint damping="0.2" armature="0.01"/>
    <motor ctrlrange="-60 60"/>
  </default>
  <worldbody>
    <body name="trunk" pos="0 0 0.7">
      <freejoint name="free"/>
      <geom name="trunk" type="capsule" fromto="0 0 0.08 0 0 0.35" size="0.09" mass="8"/>
      {legs}
    </body>
  </worldbody>
  <actuator>
    <motor name="left_abad" joint="left_abad"/>
    <motor name="left_pitch" joint="left_pitch"/>
    <motor name="left_knee" joint="left_knee"/>
    <motor name="right_abad" joint="right_abad"/>
    <motor name="right_pitch" joint="right_pitch"/>
    <motor name="right_knee" joint="right_knee"/>
  </actuator>
</mujoco>
"""
